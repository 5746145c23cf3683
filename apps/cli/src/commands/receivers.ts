/** The receivers of the emulator, which answer webhooks and callbacks of one workspace. */
import type { Receiver, ReceiverCall } from "@messaging-service/client"
import { choice, command, flag, maybe, once, text, workspace } from "../Command.ts"
import { toFields } from "./rows.ts"

const toAnswerText = ({ hangs, status }: Receiver["answer"]) => (hangs ? "hangs" : status)

const receiverColumns = [
  "name",
  "url",
  "calls",
  ["last call", "last_call_at"],
  ["answer", ({ answer }: Receiver) => toAnswerText(answer)],
] as const

const callColumns = [
  "id",
  "at",
  "path",
  "type",
  ["event", "event_id"],
  "signature",
  ["answer", ({ answer }: ReceiverCall) => toAnswerText(answer)],
] as const

const one = { name: once(text("NAME", "The label before .receiver.test.")) }

const statuses = { "200": 200, "410": 410, "500": 500 } as const

export const receiverCommands = [
  command({
    name: "receivers list",
    as: "operator",
    summary: "Lists the emulator's receivers of a workspace.",
    options: { workspace },
    run: async ({ workspace: inside }, { operator, output }) =>
      output.all(await operator().simulator.receivers(inside), receiverColumns),
  }),
  command({
    name: "receivers answer",
    as: "operator",
    summary: "Sets what a receiver answers from now on.",
    about: "Without options it answers 200.",
    arguments: one,
    options: {
      workspace,
      status: maybe(choice(["200", "500", "410"], "Status of the answer. Default: 200.")),
      body: maybe(text("TEXT", "Content of the answer.")),
      hangs: flag("Answers nothing: deliveries end by their time limit."),
    },
    run: async ({ body, hangs, name, status, workspace: inside }, { operator, output }) =>
      output.one(
        await operator().simulator.setReceiverAnswer(inside, name, {
          hangs,
          ...toFields({ body, status: status && statuses[status] }),
        }),
        receiverColumns,
      ),
  }),
  command({
    name: "receivers calls",
    as: "operator",
    summary: "Lists the latest calls of a receiver, newest first.",
    about: "--json shows their headers and bodies.",
    arguments: one,
    options: { workspace },
    run: async ({ name, workspace: inside }, { operator, output }) =>
      output.all(await operator().simulator.receiverCalls(inside, name), callColumns),
  }),
  command({
    name: "receivers clear",
    as: "operator",
    summary: "Forgets the calls of a receiver.",
    arguments: one,
    options: { workspace },
    run: async ({ name, workspace: inside }, { operator, output }) =>
      output.one(await operator().simulator.clearReceiverCalls(inside, name), receiverColumns),
  }),
]
