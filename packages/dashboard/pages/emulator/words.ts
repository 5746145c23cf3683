/** The words of the emulator. */
export const emulatorLabels = {
  title: "Emulator",
  about: "What recipients received. Nothing here reaches a real phone.",
  phones: "Phones",
  nothing: "Nothing yet",
  file: "A file",
  image: "An image",
  another: "Another phone, with + and country code",
  open: "Open",
  noNumber: "No number yet",
  noNumberAbout: "Link a simulated phone under Numbers, then send from it.",
  from: "From",
  fromName: (name: string) => `From ${name}`,
  messageTo: (phone: string) => `Message to ${phone}`,
  placeholder: "Send a message to this phone",
  send: "Send",
}

export const phoneLabels = {
  phone: (phone: string) => `Phone ${phone}`,
  simulated: "simulated",
  nothing: "nothing has arrived",
  arrived: (count: number) => `${count} arrived`,
  list: "Messages on the phone",
  writeBelow:
    "Write below. The service treats it as every message: it accepts, queues and sends it.",
  read: "read",
  tickedArrived: "arrived",
  tickArrived: "Tick as arrived",
  readIt: "Read it",
}

export const controlLabels = {
  number: (id: number, name: string) => `Number ${id}, ${name}`,
  noPhone: "no phone yet",
  behaviour: "How the platform answers a send",
  answers: "It answers",
  wait: (count: string) => `${count} wait`,
  logOut: "Log out on the phone",
  linkAndScan: "Link and scan",
  resume: "Resume",
}

export const behaviourLabels = {
  succeed: ["Works", "The platform accepts every send."],
  fail: [
    "Refuses",
    "Sends fail. Five in a row pause the number, as the real platform would force.",
  ],
  hang: ["Hangs", "The platform does not answer, and the outcome stays unknown."],
  drop: [
    "Drops one",
    "The next one arrives and its answer is lost; the service must not send it twice.",
  ],
} as const

export const clockLabels = {
  title: "Time",
  heading: "Move time on",
  about:
    "The service works off what falls due on the way: schedules, reminders, retries, expiries.",
  minute: "1 minute",
  hour: "1 hour",
  day: "1 day",
  /** Around the setting. */
  fixed: ["The service runs on the system’s clock. Start it with ", " to move its time here."],
}
