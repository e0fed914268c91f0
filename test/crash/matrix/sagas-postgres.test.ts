import { crashMatrix } from "./crash-matrix.ts";
import { sagaScenarios } from "../scenarios/all.ts";

crashMatrix("postgres", sagaScenarios);
