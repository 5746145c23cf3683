/** Replies to commands that come over IPC, one after the other. */

/** A command for which `answer` returns undefined is another listener's. */
export const answering = <Command>(answer: (command: Command) => Promise<unknown>): void => {
  const one = async (command: Command) => {
    const reported = await answer(command)
    if (reported !== undefined) process.send?.(reported)
  }
  let step = Promise.resolve()
  process.on("message", (command: Command) => {
    step = step.then(() => one(command))
  })
}
