/** Who may do what (contract: Who may do what): a line for every operation of the operator API. */
import { callers as all } from "./sessionCookies.ts"
import type { Caller } from "./sessionCookies.ts"

const operator: ReadonlyArray<Caller> = ["operator"]
export const owners: ReadonlyArray<Caller> = ["operator", "owner"]
const administrators: ReadonlyArray<Caller> = ["operator", "owner", "administrator"]
export const everyone: ReadonlyArray<Caller> = all

export const rights: Readonly<Record<string, ReadonlyArray<Caller>>> = {
  signIn: everyone,
  getSession: everyone,
  signOut: everyone,
  createSignInLink: operator,

  createPortalSession: owners,
  listPortalSessions: owners,
  revokePortalSession: owners,

  createWorkspace: operator,
  listWorkspaces: operator,
  getWorkspace: everyone,
  readFigures: everyone,
  readServiceFigures: operator,
  updateWorkspace: operator,
  deleteWorkspace: operator,

  // Of version 2 only for owners, as the body says.
  createKey: administrators,
  listKeys: administrators,
  revokeKey: administrators,

  setConversations: operator,
  getConversations: administrators,
  deleteConversations: operator,

  streamNews: everyone,

  createContact: administrators,
  listContacts: everyone,
  deleteContact: administrators,

  createNumber: operator,
  listWorkspaceNumbers: everyone,
  getWorkspaceNumber: everyone,
  linkNumber: administrators,
  updateNumber: administrators,
  deleteNumber: administrators,
  listConnections: everyone,
  getConnection: everyone,
  pauseNumber: administrators,
  resumeNumber: administrators,
  checkProxy: operator,
  logOutNumber: administrators,
  beginTelegramLogin: administrators,
  getTelegramLogin: administrators,
  cancelTelegramLogin: administrators,
  giveTelegramCode: administrators,
  giveTelegramPassword: administrators,

  listWorkspaceMessages: everyone,
  sendWorkspaceMessage: everyone,
  sendWorkspaceBatch: everyone,
  getWorkspaceMessage: everyone,
  getMessageTimeline: everyone,
  cancelWorkspaceMessages: everyone,
  cancelWorkspaceMessage: everyone,

  createWorkspaceReminder: administrators,
  listWorkspaceReminders: everyone,
  getWorkspaceReminder: everyone,
  updateWorkspaceReminder: administrators,
  deleteWorkspaceReminder: administrators,
  listReminderRuns: everyone,
  previewReminder: everyone,
  runReminder: administrators,

  uploadWorkspaceMedia: everyone,
  listWorkspaceMedia: everyone,
  getWorkspaceMedia: everyone,
  deleteWorkspaceMedia: everyone,

  createCampaign: everyone,
  listCampaigns: everyone,
  getCampaign: everyone,
  updateCampaign: everyone,
  deleteCampaign: everyone,
  addCampaignRows: everyone,
  clearCampaignRows: everyone,
  listCampaignRows: everyone,
  getCampaignRow: everyone,
  downloadCampaignResults: everyone,
  forecastCampaign: everyone,
  startCampaign: everyone,
  pauseCampaign: everyone,
  resumeCampaign: everyone,
  stopCampaign: everyone,

  createWorkspaceNumberCheck: everyone,
  listWorkspaceNumberChecks: everyone,
  getWorkspaceNumberCheck: everyone,
  listWorkspaceNumberCheckResults: everyone,

  listWorkspaceWebhooks: everyone,
  createWorkspaceWebhook: administrators,
  deleteWorkspaceWebhook: administrators,
  rotateWorkspaceWebhookSecret: administrators,
  testWorkspaceWebhook: administrators,
  updateWorkspaceWebhook: administrators,
  listDeliveries: everyone,
  getDelivery: administrators,
  recoverEvents: administrators,
  resumeWebhook: administrators,
  redeliverEvent: administrators,
  listCallbackDeliveries: everyone,
  getCallbackSecret: administrators,
  rotateCallbackSecret: administrators,

  storeRestored: operator,
  listHeldWorkspaces: operator,
  listHeld: operator,
  releaseHeld: operator,
  cancelHeld: operator,
  markHeldSent: operator,

  getBehaviour: operator,
  setBehaviour: operator,
  scanCode: operator,
  logOut: operator,
  getRegistered: operator,
  setRegistered: operator,
  tick: operator,
  listSent: operator,
  getClock: operator,
  advanceClock: operator,
  settle: operator,
}
