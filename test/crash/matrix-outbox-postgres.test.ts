import { crashMatrix } from "./matrix.ts";
import { outboxScenarios } from "./scenarios/all.ts";

crashMatrix("postgres", outboxScenarios);
