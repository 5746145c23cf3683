/** Sends a file's slots, whichever page is open, and shows how far it is. */
import type { QueryClient } from "@tanstack/react-query"
import { call } from "../api/call.ts"
import { forgetRun, showRun } from "./fileRuns.ts"
import type { Sending, SendingState } from "./fileRuns.ts"
import { remember } from "./memory.ts"
import type { FileMemory } from "./memory.ts"
import { getBody } from "./plan.ts"
import type { Slot } from "./plan.ts"
import { sendSlots } from "./sending.ts"
import type { SendingSteps } from "./sending.ts"

const stopped = new Error("stopped")

/** Rejects once the signal says so. */
const waitUnlessStopped = (millis: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) return reject(stopped)
    const timer = setTimeout(resolve, millis)
    signal.addEventListener("abort", () => {
      clearTimeout(timer)
      reject(stopped)
    })
  })

export const startSending = (client: QueryClient, workspaceId: number, sending: Sending): void => {
  const { before, digest, settings, slots } = sending
  let stopper = new AbortController()
  let isDropped = false
  let state: SendingState = {
    progress: "sending",
    error: null,
    memory: before,
    acceptedBefore: 0,
    refused: [],
    waitsFor: null,
  }
  const show = (change: Partial<SendingState>) => {
    state = { ...state, ...change }
    if (!isDropped) showRun({ workspaceId, sending, state, goOn, stop, drop })
  }
  const note = (change: Partial<FileMemory>) => {
    const memory = { ...state.memory, ...change }
    remember(localStorage, workspaceId, digest, memory)
    show({ memory })
  }
  const steps = (signal: AbortSignal): SendingSteps => ({
    send: (rows, key) =>
      call("POST /admin/v1/workspaces/{id}/messages/batch", {
        path: { id: workspaceId },
        query: { mode: settings.mode },
        idempotencyKey: key,
        body: getBody(rows, settings.from, before.run),
      }),
    wait: (millis) => waitUnlessStopped(millis, signal),
    begin: ({ line }) => {
      if (state.memory.begun?.line !== line) note({ begun: { line, at: Date.now() } })
    },
    end: ({ line, rows }, how, refused) => {
      const { accepted, ended } = state.memory
      const added = how === "accepted" ? rows.length - refused.length : 0
      note({ ended: [...ended, line], accepted: accepted + added, begun: null })
      show({
        acceptedBefore: state.acceptedBefore + (how === "accepted_before" ? rows.length : 0),
        refused: [...state.refused, ...refused],
      })
    },
    waitsFor: (waitsFor) => show({ waitsFor }),
  })
  const goOn = () => {
    stopper = new AbortController()
    show({ progress: "sending", error: null })
    const isOpen = ({ line }: Slot) => !state.memory.ended.includes(line)
    void sendSlots(slots.filter(isOpen), steps(stopper.signal))
      .then(
        () => show({ progress: "done", waitsFor: null }),
        (error: unknown) =>
          show({
            ...(error === stopped ? { progress: "stopped" } : { progress: "failed", error }),
            waitsFor: null,
          }),
      )
      .then(() => client.invalidateQueries())
  }
  const stop = () => stopper.abort()
  const drop = () => {
    stop()
    isDropped = true
    forgetRun(workspaceId)
  }
  goOn()
}
