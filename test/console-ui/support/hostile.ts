/** Texts that would do harm if any of them were ever read as markup, as an address, or as a number of columns. */
export const HOSTILE: readonly string[] = [
  `<script>globalThis.pwned=1</script>`,
  `<img src=x onerror="globalThis.pwned=2">`,
  `"><svg onload=globalThis.pwned=3>`,
  `javascript:globalThis.pwned=4`,
  `'-globalThis.pwned=5-'`,
  `{{constructor.constructor('globalThis.pwned=6')()}}`,
  `</title><iframe srcdoc="<script>parent.pwned=7</script>">`,
  `\u202Eevil\u202C \u0000 \u{1F4A5}`,
  `../../../etc/passwd?x=%00#"'`,
  "W".repeat(400),
  "__proto__",
];
