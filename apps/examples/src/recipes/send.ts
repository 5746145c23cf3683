// Sends a message and waits for its end. URL and KEY come from the environment.
const { KEY, URL: url } = process.env
const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" }

interface Answer {
  readonly id: number
  readonly status: string
  readonly error: { readonly code: string; readonly message: string } | null
}

const api = async (path: string, options: RequestInit = {}): Promise<Answer> => {
  const response = await fetch(`${url}${path}`, {
    ...options,
    headers: { ...headers, ...options.headers },
  })
  const answer = (await response.json()) as Answer
  if (!response.ok) throw new Error(`${answer.error?.code}: ${answer.error?.message}`)
  return answer
}

let message = await api("/api/v2/messages", {
  method: "POST",
  headers: { "idempotency-key": "order-4711" },
  body: JSON.stringify({ to: { phone: "+15550100002" }, text: "Your order has left." }),
})
while (message.status === "queued") {
  await new Promise((resolve) => setTimeout(resolve, 200))
  message = await api(`/api/v2/messages/${message.id}`)
}
console.log(message.status)
