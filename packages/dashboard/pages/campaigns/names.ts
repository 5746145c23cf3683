/** Words that all pages of campaigns share. */

export const campaignNames = {
  all: "All campaigns",
  unnamed: (id: number) => `Campaign ${id}`,
}

export const dayNames = {
  mon: "Mon",
  tue: "Tue",
  wed: "Wed",
  thu: "Thu",
  fri: "Fri",
  sat: "Sat",
  sun: "Sun",
}
