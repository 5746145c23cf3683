/**
 * News of a workspace as they happen. An event says what changed, never how: the page then asks again for what it
 * shows, at most once a second. A hidden page closes its stream: browsers give a host six connections, and a
 * stream keeps one.
 */
import { useQueryClient } from "@tanstack/react-query"
import type { QueryClient } from "@tanstack/react-query"
import { useEffect, useState, useSyncExternalStore } from "react"
import { base } from "./base.ts"
import type { Topic } from "./call.ts"
import { setServiceTime } from "./serviceTime.ts"
import { sessionKind } from "./sessionKind.ts"

export type LiveState = "connecting" | "live" | "offline" | "paused"

const topics: ReadonlyArray<Topic> = [
  "messages",
  "chats",
  "numbers",
  "webhooks",
  "reminders",
  "campaigns",
  "simulator",
]

/** What a campaign counts, and waits for: no news of its own report these. */
const changesCampaigns: ReadonlyArray<Topic> = ["messages", "numbers"]

/** What a chat shows besides what was received. */
const changesChats: ReadonlyArray<Topic> = ["messages"]
/** A delivery reached a receiver of the emulator. */
const changesSimulator: ReadonlyArray<Topic> = ["webhooks"]
const pauseMillis = 1000
/** Also how often a page asks again while no event reaches it. */
const reopenMillis = 10_000

const whenSeen = (changed: () => void) => {
  document.addEventListener("visibilitychange", changed)
  return () => document.removeEventListener("visibilitychange", changed)
}

export const useLive = (workspaceId: number, paused: boolean): LiveState => {
  const client = useQueryClient()
  const [state, setState] = useState<LiveState>("connecting")
  const hidden = useSyncExternalStore(whenSeen, () => document.hidden)

  useEffect(() => {
    if (paused || hidden) return setState("paused")
    const changeFeed = gatherChanges(client, workspaceId)
    let source: EventSource | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    let isLive = false
    const changedAll = () => {
      for (const topic of topics) changeFeed.changed(topic)
    }
    // A proxy may pass a stream's head on and hold its events back, so an open stream alone proves nothing.
    const polling = setInterval(() => {
      if (!isLive) changedAll()
    }, reopenMillis)
    const open = () => {
      const kind = sessionKind()
      const session = kind === null ? "" : `&session=${kind}`
      source = new EventSource(`${base}admin/v1/events?workspace_id=${workspaceId}${session}`)
      // No event tells what happened before the stream opened, or while it was broken.
      source.addEventListener("open", changedAll)
      source.addEventListener("error", () => {
        isLive = false
        setState("offline")
        // A lost connection the browser opens again by itself, a refused one never.
        if (source?.readyState !== EventSource.CLOSED) return
        changedAll()
        timer = setTimeout(open, reopenMillis)
      })
      // The service begins each stream with one.
      source.addEventListener("clock", (event: MessageEvent<string>) => {
        isLive = true
        setState("live")
        setServiceTime((JSON.parse(event.data) as { now: string }).now)
      })
      for (const topic of topics) source.addEventListener(topic, () => changeFeed.changed(topic))
    }
    open()
    return () => {
      source?.close()
      clearTimeout(timer)
      clearInterval(polling)
      changeFeed.stop()
    }
  }, [client, hidden, paused, workspaceId])

  return state
}

/** Collects topics and asks for them again together. */
const gatherChanges = (client: QueryClient, workspaceId: number) => {
  const stale = new Set<Topic>()
  let timer: ReturnType<typeof setTimeout> | undefined
  const refresh = () => {
    timer = undefined
    for (const topic of stale)
      void client.invalidateQueries({
        queryKey: topic === "simulator" ? [topic] : [topic, workspaceId],
      })
    stale.clear()
  }
  return {
    changed: (topic: Topic) => {
      stale.add(topic)
      if (changesCampaigns.includes(topic)) stale.add("campaigns")
      if (changesChats.includes(topic)) stale.add("chats")
      if (changesSimulator.includes(topic)) stale.add("simulator")
      timer ??= setTimeout(refresh, pauseMillis)
    },
    stop: () => clearTimeout(timer),
  }
}
