import { crashMatrix } from "./matrix.ts";
import { sagaScenarios } from "./scenarios/all.ts";

crashMatrix("sqlite", sagaScenarios);
