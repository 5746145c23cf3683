/** Moves the service's time, where its clock can be moved. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { call } from "../api/call.ts"
import { setServiceTime } from "../api/serviceTime.ts"
import { Button } from "../ui/parts.tsx"
import { clockWords as words } from "./words.ts"

const steps = [
  [60, words.minute],
  [3600, words.hour],
  [86_400, words.day],
] as const

export const ClockControls = ({ adjustable }: { adjustable: boolean }) => {
  const client = useQueryClient()
  const advance = useMutation({
    mutationFn: (seconds: number) =>
      call("POST /admin/v1/simulator/clock/advance", { body: { seconds } }),
    onSuccess: ({ now }) => {
      setServiceTime(now)
      return client.invalidateQueries()
    },
  })
  return (
    <section className="card flex flex-col gap-3 p-4" aria-label={words.title}>
      <h2 className="font-semibold">{words.heading}</h2>
      {adjustable ? (
        <>
          <p className="text-sm text-soft">{words.about}</p>
          <div className="flex flex-wrap gap-2">
            {steps.map(([seconds, name]) => (
              <Button
                key={seconds}
                busy={advance.isPending && advance.variables === seconds}
                onClick={() => advance.mutate(seconds)}
              >
                + {name}
              </Button>
            ))}
          </div>
        </>
      ) : (
        <p className="text-sm text-soft">
          {words.fixed[0]}
          <code className="font-mono text-xs">CLOCK=adjustable</code>
          {words.fixed[1]}
        </p>
      )}
      {advance.error && (
        <p role="alert" className="text-sm text-red">
          {advance.error.message}
        </p>
      )}
    </section>
  )
}
