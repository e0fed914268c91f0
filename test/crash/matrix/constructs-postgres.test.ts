import { crashMatrix } from "./crash-matrix.ts";
import { constructScenarios } from "../scenarios/all.ts";

crashMatrix("postgres", constructScenarios);
