/** The system's own time, whatever clock the service runs on. */
import { RealTime } from "@messaging-service/core"
import { Clock, Duration, Layer } from "effect"

/** The clock that Effect runs on when none is provided. */
export const systemClock: Clock.Clock = Clock.Clock.defaultValue()

/** Real time is the system's, also where `Clock` was replaced by an adjustable one. */
export const realTimeLayer: Layer.Layer<never> = Layer.succeed(RealTime, {
  sleep: (duration) => systemClock.sleep(Duration.fromInputUnsafe(duration)),
})
