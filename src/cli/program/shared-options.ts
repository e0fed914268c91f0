/** Options that several commands have. */
import { flag, text, type FlagOption, type TextOption } from "./command.ts";

export const JSON_OUT: { readonly json: FlagOption } = {
  json: flag("Prints JSON instead of text."),
};

export const NOTE: { readonly reason: TextOption; readonly by: TextOption } = {
  reason: text("TEXT", "The reason. Required; recorded in the audit trail."),
  by: text("NAME", "Who is acting, for the audit trail. Default: your user name."),
};
