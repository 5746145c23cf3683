/**
 * Silence: a logger without output, and libsignal kept from printing session keys with `console` while a
 * server is up.
 */
import type { SocketConfig } from "baileys"

const nothing = () => undefined

export const silentLogger: SocketConfig["logger"] = {
  level: "silent",
  child: () => silentLogger,
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
}

const spoken = [
  "Closing session:",
  "Opening session:",
  "Removing old closed session:",
  "Migrating session to:",
  "Closing open session in favor of incoming prekey bundle",
  "Session already closed",
  "Session already open",
  "Failed to decrypt message with any known session...",
  "Session error:",
  "Decrypted message with closed session.",
]

const levels = ["info", "warn", "error"] as const

/** Drops libsignal's console output until the returned function is called. */
export const silenceLibsignal = () => {
  const before = levels.map((level) => [level, console[level]] as const)
  const quiet = before.map(([level, print]) => {
    const replaced = (...said: ReadonlyArray<unknown>) => {
      const [first] = said
      const isLibsignal =
        typeof first === "string" && spoken.some((start) => first.startsWith(start))
      if (!isLibsignal) print.apply(console, [...said])
    }
    console[level] = replaced
    return { level, print, replaced }
  })
  return () => {
    for (const { level, print, replaced } of quiet) {
      if (console[level] === replaced) console[level] = print
    }
  }
}
