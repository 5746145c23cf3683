/** How often commands ask that wait for something. */

/** So many milliseconds for each request: 20 of the 60 that a key has in a minute. */
const restOfARequest = 3000

/** The rest after that many requests, so that however many a look took, the key's others have room. */
export const restAfter = (requests: number): number => requests * restOfARequest
