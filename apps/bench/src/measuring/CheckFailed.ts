import { Data } from "effect"

/** The figure of a run did not come from the work it stands for. */
export class CheckFailed extends Data.TaggedError("CheckFailed")<{ readonly message: string }> {}
