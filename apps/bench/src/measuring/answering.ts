/** Answers orders that come over Node's own channel, one after the other. */

/** Orders for which `answer` has nothing to say are another listener's. */
export const answering = <Order>(answer: (order: Order) => Promise<unknown>): void => {
  const one = async (order: Order) => {
    const told = await answer(order)
    if (told !== undefined) process.send?.(told)
  }
  let turn = Promise.resolve()
  process.on("message", (order: Order) => {
    turn = turn.then(() => one(order))
  })
}
