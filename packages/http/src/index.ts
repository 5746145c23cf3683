/** The HTTP interface: for a server of Effect's, as a web-standard handler, and its options. */
export { httpApp, layerHttp, monitoringApp, toWebHandler, webHandler } from "./HttpApp.ts"
export { HttpOptions } from "./HttpOptions.ts"
export type { DashboardFile, DashboardSource, HttpSettings } from "./HttpOptions.ts"

export type { HttpServices, WebHandler } from "./HttpApp.ts"
export { isDashboardPage } from "./open/dashboard.ts"
