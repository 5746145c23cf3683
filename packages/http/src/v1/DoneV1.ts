/** The answer of operations that have nothing to tell but that they were done. */
import { Schema } from "effect"

export const DoneAnswer = Schema.Struct({ status: Schema.Literal(1), message: Schema.String })

export const done = (message: string): typeof DoneAnswer.Type => ({ status: 1, message })
