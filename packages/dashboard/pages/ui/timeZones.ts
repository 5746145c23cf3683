/** The zones that this browser knows; the service takes more. */
export const timeZones: ReadonlyArray<string> = ["UTC", ...Intl.supportedValuesOf("timeZone")]
