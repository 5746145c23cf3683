/** Made by `answerShapes.ts`, beside `vite.config.ts`. */
declare module "virtual:answer-shapes" {
  import type { Shapes } from "./shape.ts"

  export const shapes: Shapes
}
