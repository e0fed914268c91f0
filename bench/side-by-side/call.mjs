// One call of a service, under a key. It throws if the service is down.
const url = process.env["SERVICES"];

export async function call(act, key) {
  const response = await fetch(`${url}/${act}`, {
    method: "POST",
    headers: { "x-pid": String(process.pid) },
    body: JSON.stringify({ key }),
  });
  if (!response.ok) throw new Error(`${act} answers ${response.status}`);
}
