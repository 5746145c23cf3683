/** Where the dashboard is mounted: `/`, or a path such as `/messaging/`, which the server writes into the page. */
const written = document.querySelector<HTMLMetaElement>('meta[name="base"]')?.content ?? "/"

/** With a slash at both ends. Vite's own server leaves the mark as it is. */
export const base = written === "./" ? "/" : written
