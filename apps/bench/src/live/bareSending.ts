/** What processes of the bare library have in common: they connect a few at a time, and send in loops. */
import { answering } from "../measuring/answering.ts"
import { steadyMillis } from "./commands.ts"
import type { MeasuredCommand, SendCommand, Sent } from "./commands.ts"

/** So many are opened side by side: all at once would keep one another waiting for too long. */
const atOnce = 8

/** `send` hands the text to the library, and ends when it is acknowledged. */
export const runBare = <Open>(
  open: (device: number) => Promise<Open>,
  send: (one: Open, to: string) => Promise<void>,
): void => {
  const count = Number(process.env["SOCKETS"] ?? "0")
  const opened: Array<Open> = []
  let next = 0
  const openOthers = async () => {
    while (next < count) {
      const device = next++
      opened[device] = await open(device)
    }
  }
  for (let index = 0; index < atOnce; index++) void openOthers()

  const sendOne = async (one: Open, to: string) => {
    const began = steadyMillis()
    await send(one, to)
    return { began, acknowledged: steadyMillis() }
  }
  const sendAll = async ({ each, first, sockets, to }: SendCommand): Promise<Sent> => {
    const texts: Array<Sent["texts"][number]> = []
    await Promise.all(
      opened.slice(first, first + sockets).map(async (one) => {
        for (let message = 0; message < each; message++) texts.push(await sendOne(one, to))
      }),
    )
    return { texts }
  }
  answering(async (command: MeasuredCommand | SendCommand) =>
    command.kind === "send" ? sendAll(command) : undefined,
  )
}
