import { crashMatrix } from "./matrix.ts";
import { flowScenarios } from "./scenarios/all.ts";

crashMatrix("sqlite", flowScenarios);
