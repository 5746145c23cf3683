/** Answers orders that come over Node's own channel, one after the other. */

/** Orders for which `answer` has nothing to say are another listener's. */
export const answering = <Order>(answer: (order: Order) => Promise<unknown>): void => {
  const one = async (order: Order) => {
    const reported = await answer(order)
    if (reported !== undefined) process.send?.(reported)
  }
  let step = Promise.resolve()
  process.on("message", (order: Order) => {
    step = step.then(() => one(order))
  })
}
