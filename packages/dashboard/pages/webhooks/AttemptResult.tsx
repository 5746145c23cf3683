/** The cells of an attempt's answer, with its duration, and of its time, the same in every log. */
import type { CallbackDelivery, Delivery } from "@messaging-service/client"
import { Cell } from "../ui/Table.tsx"
import { Ahead, When, span } from "../ui/Time.tsx"
import { answerWords, logWords as words } from "./words.ts"

export const AttemptResult = ({
  attempt: { attempted_at, duration_ms, error, next_attempt_at, response_status },
}: {
  attempt: CallbackDelivery | Delivery
}) => (
  <>
    <Cell>
      <span className={`whitespace-normal ${error === null ? "text-accent" : "text-red"}`}>
        {answerWords(error, response_status)}
      </span>
      <p className="text-xs whitespace-normal text-soft">
        {span(duration_ms)}
        {next_attempt_at && <Ahead at={next_attempt_at} words={words.again} />}
      </p>
    </Cell>
    <Cell wide right>
      <When at={attempted_at} how="clock" />
    </Cell>
  </>
)
