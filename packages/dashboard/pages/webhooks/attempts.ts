/** The how-manieth attempt each was, for its reader: on the wire a redelivery begins again at 1. */

interface Attempt {
  readonly event_id: string | null
  readonly attempt: number | null
  /** Null for a callback; left out where all are of one endpoint. */
  readonly webhook_id?: number | null
}

/** In the order of the attempts, which is that of their times. What came before them is not counted. */
export const attemptNumbers = (attempts: ReadonlyArray<Attempt>): ReadonlyArray<number> => {
  const last = new Map<string, number>()
  return attempts.map(({ attempt, event_id: event, webhook_id: webhook }) => {
    const key = `${webhook} ${event}`
    const number = Math.max(attempt ?? 1, (last.get(key) ?? 0) + 1)
    last.set(key, number)
    return number
  })
}
