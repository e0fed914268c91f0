import { crashMatrix } from "./crash-matrix.ts";
import { outboxScenarios } from "../scenarios/all.ts";

crashMatrix("postgres", outboxScenarios);
