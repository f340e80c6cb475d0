// Requests to the server that this page comes from. Errors are thrown as one line.

export async function ask(method, path, body, kind = "application/octet-stream") {
  let answer;
  try {
    answer = await fetch(path, { method, body, headers: body === undefined ? {} : { "Content-Type": kind } });
  } catch {
    throw new Error("The server does not answer. Is asr serve still running?");
  }
  if (!answer.ok) {
    const found = await answer.json().catch(() => ({}));
    throw Object.assign(new Error(found.error || `The server answers ${answer.status}.`), { status: answer.status });
  }
  return answer;
}

export async function json(method, path, content) {
  const body = content === undefined ? undefined : JSON.stringify(content);
  return (await ask(method, path, body, "application/json")).json();
}

export function query(path, values) {
  return `${path}?${new URLSearchParams(values)}`;
}

/** Give the browser an answer to keep as a file, under the name that the server gives it. */
export async function keep(answer) {
  const named = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") || "");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = named ? named[1] : "words.txt";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const problem = document.getElementById("problem");

/** Say what went wrong, or nothing. */
export function complain(error) {
  problem.textContent = error ? error.message || String(error) : "";
  problem.hidden = !error;
  if (error) problem.scrollIntoView({ block: "nearest" });
}
