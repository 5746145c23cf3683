/** How the dashboard is built: static files with hashed names, nothing inline, nothing from elsewhere. */
import tailwindcss from "@tailwindcss/vite"
import react from "@vitejs/plugin-react"
import { join } from "node:path"
import { defineConfig } from "vite"

export default defineConfig({
  root: join(import.meta.dirname, "pages"),
  // Files name each other by relative addresses, so that one build serves under any path; in the page
  // the server puts its own path in their place.
  base: "./",
  plugins: [react(), tailwindcss()],
  build: {
    target: ["chrome125", "firefox128", "safari18"],
    // The policy allows no `data:` address, so nothing small is put into other files.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // What changes with its version alone keeps its name, and its place in the browser's cache.
        codeSplitting: {
          groups: [
            { name: "vendor", test: /node_modules[\\/](react|react-dom|scheduler|@tanstack)[\\/]/ },
          ],
        },
      },
    },
  },
  server: {
    host: "127.0.0.1",
    // The service, for development with hot reload.
    proxy: Object.fromEntries(
      ["/admin", "/qr", "/media", "/health"].map((path) => [
        path,
        process.env["SERVICE_URL"] ?? "http://127.0.0.1:8080",
      ]),
    ),
  },
})
