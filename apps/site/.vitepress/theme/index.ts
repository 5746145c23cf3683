import DefaultTheme from "vitepress/theme"
// oxlint-disable-next-line import/no-unassigned-import -- how Vite takes styles
import "./style.css"

export default DefaultTheme
