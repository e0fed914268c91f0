import { crashMatrix } from "./crash-matrix.ts";
import { flowScenarios } from "../scenarios/all.ts";

crashMatrix("postgres", flowScenarios);
