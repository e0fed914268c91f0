import { crashMatrix } from "./matrix.ts";

crashMatrix("postgres");
