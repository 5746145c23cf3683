/** A call that changes something, as pages use it: afterwards whatever the page shows is asked for again. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { call } from "./call.ts"
import type { Input } from "./call.ts"
import type { Answer, OperationName } from "./operations.ts"

export const useCall = <N extends OperationName>(
  name: N,
  onSuccess?: (answer: Answer<N>) => unknown,
) => {
  const client = useQueryClient()
  return useMutation<Answer<N>, Error, Input<N>>({
    mutationFn: (input) => call(name, input),
    onSuccess: (answer) => onSuccess?.(answer),
    // Not awaited: a button is busy until its own answer, not until those of the whole page.
    onSettled: () => void client.invalidateQueries(),
  })
}
