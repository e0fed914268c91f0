import { crashMatrix } from "./crash-matrix.ts";
import { constructScenarios } from "../scenarios/all.ts";

crashMatrix("sqlite", constructScenarios);
