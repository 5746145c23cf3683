/** Sends a file's slots, and tells how far it is. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useEffect, useRef, useState } from "react"
import { call } from "../api/call.ts"
import { remember } from "./memory.ts"
import type { FileMemory } from "./memory.ts"
import { bodyOf } from "./plan.ts"
import type { FileSettings, Slot } from "./plan.ts"
import { sendSlots } from "./sending.ts"
import type { RefusedRow, SendingSteps } from "./sending.ts"

export interface Sending {
  readonly slots: ReadonlyArray<Slot>
  readonly settings: Pick<FileSettings, "from" | "mode">
  readonly digest: string
  /** What was sent of it before. */
  readonly before: FileMemory
}

export interface SendingState {
  readonly memory: FileMemory
  readonly acceptedBefore: number
  readonly refused: ReadonlyArray<RefusedRow>
  readonly waitsFor: Parameters<SendingSteps["waitsFor"]>[0]
}

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

export const useSending = (id: number, { before, digest, settings, slots }: Sending) => {
  const client = useQueryClient()
  const stopper = useRef(new AbortController())
  const [state, setState] = useState<SendingState>({
    memory: before,
    acceptedBefore: 0,
    refused: [],
    waitsFor: null,
  })
  const memory = useRef(before)
  const note = (change: Partial<FileMemory>) => {
    memory.current = { ...memory.current, ...change }
    remember(localStorage, id, digest, memory.current)
    setState((now) => ({ ...now, memory: memory.current }))
  }
  const run = useMutation({
    mutationFn: () => {
      const { signal } = (stopper.current = new AbortController())
      const isOpen = ({ line }: Slot) => !memory.current.ended.includes(line)
      return sendSlots(slots.filter(isOpen), {
        send: (rows, key) =>
          call("POST /admin/v1/workspaces/{id}/messages/batch", {
            path: { id },
            query: { mode: settings.mode },
            idempotencyKey: key,
            body: bodyOf(rows, settings.from, before.run),
          }),
        wait: (millis) => waitUnlessStopped(millis, signal),
        begin: ({ line }) => {
          if (memory.current.begun?.line !== line) note({ begun: { line, at: Date.now() } })
        },
        end: ({ line, rows }, how, refused) => {
          const accepted = how === "accepted" ? rows.length - refused.length : 0
          note({
            ended: [...memory.current.ended, line],
            accepted: memory.current.accepted + accepted,
            begun: null,
          })
          setState((now) => ({
            ...now,
            acceptedBefore: now.acceptedBefore + (how === "accepted_before" ? rows.length : 0),
            refused: [...now.refused, ...refused],
          }))
        },
        waitsFor: (reason) => setState((now) => ({ ...now, waitsFor: reason })),
      })
    },
    onSettled: () => {
      setState((now) => ({ ...now, waitsFor: null }))
      void client.invalidateQueries()
    },
    // The loop waits for a lost connection by itself.
    networkMode: "always",
  })
  const { mutate } = run
  useEffect(() => {
    mutate()
    return () => stopper.current.abort()
  }, [mutate])
  return {
    ...state,
    isSending: run.isPending,
    isDone: run.isSuccess,
    isStopped: run.error === stopped,
    error: run.error === stopped ? null : run.error,
    goOn: () => mutate(),
    stop: () => stopper.current.abort(),
  }
}
