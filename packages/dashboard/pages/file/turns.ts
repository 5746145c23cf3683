/**
 * Long work in short turns, so that the page answers keys and clicks while 10,000 rows are read: the work is a
 * generator that yields wherever it may be interrupted.
 */

export type Slices<Result> = Generator<void, Result, void>

/** Does work that is short. */
export const workAtOnce = <Result>(work: Slices<Result>): Result => {
  while (true) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

/** With what the browser does in between, a task stays below 50 ms on a slow processor too. */
const sliceMillis = 8

/** The next task of the page. Timers would wait for a second each in a hidden tab. */
const nextTask = (): Promise<void> =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel()
    port1.addEventListener("message", () => {
      port1.close()
      resolve()
    })
    port1.start()
    port2.postMessage(null)
  })

/** Does the work, unless the signal stops it: then the promise rejects with the signal's reason. */
export const workInSlices = async <Result>(
  work: Slices<Result>,
  signal?: AbortSignal,
): Promise<Result> => {
  let end = performance.now() + sliceMillis
  while (true) {
    const step = work.next()
    if (step.done === true) return step.value
    if (performance.now() < end) continue
    await nextTask()
    signal?.throwIfAborted()
    end = performance.now() + sliceMillis
  }
}
