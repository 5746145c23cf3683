/** The columns of an attempt's answer, with its duration, and of its time, the same in every log. */
import type { CallbackDelivery, Delivery } from "@messaging-service/client"
import type { Columns } from "../ui/Table.tsx"
import { Ahead, When, span } from "../ui/Time.tsx"
import { answerLabels, logLabels as labels } from "./words.ts"

export const resultColumns: Columns<CallbackDelivery | Delivery> = [
  {
    name: labels.answer,
    cell: ({ duration_ms: millis, error, next_attempt_at: next, response_status: status }) => (
      <>
        <span className={`whitespace-normal ${error === null ? "text-accent" : "text-red"}`}>
          {answerLabels(error, status)}
        </span>
        <p className="text-xs whitespace-normal text-soft">
          {span(millis)}
          {next && <Ahead at={next} text={labels.again} />}
        </p>
      </>
    ),
  },
  {
    name: labels.time,
    wide: true,
    right: true,
    cell: (attempt) => <When at={attempt.attempted_at} how="clock" />,
  },
]
