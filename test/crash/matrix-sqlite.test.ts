import { crashMatrix } from "./matrix.ts";

crashMatrix("sqlite");
