/** Maps the HTTP status of a receiver's answer to an outcome. Only 2xx is success; redirects are not followed. */
import type { ErrorCode, StatusCode } from "./error-code.ts";

export interface StatusMeaning {
  readonly ok: boolean;
  readonly code: ErrorCode | StatusCode;
  /** The receiver is permanently gone (410): its subscription gets disabled. */
  readonly gone: boolean;
}

export function statusMeaning(status: number): StatusMeaning {
  if (status >= 200 && status < 300) return { ok: true, code: `http_${status}`, gone: false };
  if (status >= 300 && status < 400) return { ok: false, code: "redirect", gone: false };
  if (status === 410) return { ok: false, code: "gone", gone: true };
  return { ok: false, code: `http_${status}`, gone: false };
}
