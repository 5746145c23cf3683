/** The words of the emulator. */
export const emulatorLabels = {
  title: "Emulator",
  about: "What recipients received. Nothing here reaches a real phone.",
  phones: "Phones",
  nothing: "No messages yet",
  wrote: (text: string) => `→ ${text}`,
  file: "File",
  image: "Image",
  another: "Another phone, with + and country code",
  open: "Open",
  noNumber: "No numbers yet",
  noNumberAbout: "Link a simulated phone under Numbers, then send from it.",
  from: "From",
  fromName: (name: string) => `From ${name}`,
  messageTo: (phone: string) => `Message to ${phone}`,
  placeholder: "Send a message to this phone",
  send: "Send",
  /** Before the link to the message. */
  accepted: "Accepted as ",
  message: (id: number) => `message ${id}`,
}

export const phoneLabels = {
  phone: (phone: string) => `Phone ${phone}`,
  simulated: "simulated",
  nothing: "no messages",
  arrived: (count: number) => `${count} received`,
  list: "Messages on the phone",
  writeBelow: "Write below. The message is accepted, queued and sent like any other.",
  read: "read",
  tickedArrived: "delivered",
  tickArrived: "Mark as delivered",
  readIt: "Mark as read",
  quote: "Reply",
  writeAs: (phone: string) => `Write as ${phone}`,
  writePlaceholder: "Write as this person",
  write: "Write",
  to: "To",
  toName: (name: string) => `To ${name}`,
  quoting: (text: string) => `Replying to: ${text}`,
  dropQuote: "Reply to no message",
  attach: "Attach a file, up to 1 MiB",
  attached: (name: string, size: string) => `${name}, ${size}`,
  dropFile: "Attach no file",
  revoked: "You deleted this message.",
}

export const controlLabels = {
  number: (id: number, name: string) => `Number ${id}, ${name}`,
  noPhone: "no phone yet",
  behaviour: "Platform response",
  answers: "Responds",
  wait: (count: string) => `${count} waiting`,
  logOut: "Log out on the phone",
  linkAndScan: "Link and scan",
  resume: "Resume",
}

export const behaviourLabels = {
  succeed: ["Accept", "The platform accepts every send."],
  fail: ["Reject", "Sends fail. Five in a row pause the number."],
  hang: ["Hang", "The platform does not respond. The outcome is unknown."],
  drop: [
    "Lose one",
    "The next message arrives but its response is lost. It must not be sent twice.",
  ],
} as const

export const receiverLabels = {
  title: "Webhook receivers",
  about: "A webhook to https://<name>.receiver.test/… is answered here, under any name.",
  list: "Receivers",
  empty: "No receivers yet",
  emptyAbout: ["Add a webhook at ", " under ", "."],
  webhooks: "Webhooks",
  calls: (count: number) => (count === 1 ? "1 call" : `${count} calls`),
  receiver: (name: string) => `Receiver ${name}`,
  answer: "Response to calls",
  body: "Response body",
  save: "Save",
  callsTitle: "Calls, newest first",
  noCalls: "No calls yet",
  noCallsAbout: "Send a message, or a test event of the webhook.",
  clear: "Clear",
  callback: "callback",
  headers: "Headers",
  content: "Body",
  noContent: "No body.",
  answered: (answer: { status: number; hangs: boolean }) =>
    answer.hangs ? "no response" : `answered ${answer.status}`,
}

export const receiverAnswerLabels = {
  "200": ["200", "Accepts every call."],
  "500": ["500", "Fails every call. The delivery is retried."],
  "410": ["410", "Refuses every call as gone. The delivery is retried."],
  hangs: ["Hang", "Does not respond. The delivery times out after 15 seconds."],
} as const

export const signatureLabels = {
  valid: ["signature valid", "text-accent"],
  invalid: ["signature invalid", "text-red"],
  none: ["not signed", "text-red"],
} as const

export const clockLabels = {
  title: "Time",
  heading: "Advance the clock",
  about: "Schedules, reminders, retries and expiries run as they come due.",
  minute: "1 minute",
  hour: "1 hour",
  day: "1 day",
  /** Around the setting. */
  fixed: ["The service uses the system clock. Start it with ", " to advance it here."],
}
