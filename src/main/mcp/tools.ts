import type { JsonValue } from '@bufbuild/protobuf'
import { z } from 'zod'
import type { FleetClient } from '../fleet-client.ts'

/** What a tool works with during one call. */
export interface ToolCall {
  fleet: FleetClient
  signal: AbortSignal
}

export interface ReadTool {
  name: string
  description: string
  input: z.ZodObject
  read(call: ToolCall, args: never): Promise<JsonValue>
}

/** A change is looked at first: what it would do, in words, and the state it was judged by. */
export interface ChangeTool {
  name: string
  description: string
  input: z.ZodObject
  destroys: boolean
  preview(call: ToolCall, args: never): Promise<Preview>
}

export interface Preview {
  /** One or two sentences for the person who has to agree. */
  says: string
  seen: string
  look(call: ToolCall): Promise<string>
  apply(call: ToolCall): Promise<JsonValue>
}

/** Ties the arguments' type to the schema they are checked by. */
export const readTool = <S extends z.ZodRawShape>(tool: {
  name: string
  description: string
  input: S
  read(call: ToolCall, args: z.infer<z.ZodObject<S>>): Promise<JsonValue>
}): ReadTool => ({ ...tool, input: z.strictObject(tool.input) }) as unknown as ReadTool

export const changeTool = <S extends z.ZodRawShape>(tool: {
  name: string
  description: string
  input: S
  destroys?: boolean
  preview(call: ToolCall, args: z.infer<z.ZodObject<S>>): Promise<Preview>
}): ChangeTool => ({ destroys: false, ...tool, input: z.strictObject(tool.input) }) as unknown as ChangeTool

/** It stands in previews that a person reads: nothing but a name or an id. */
export const ref = (noun: string) =>
  z
    .string()
    .max(64)
    .regex(/^[a-z0-9-]+$/, 'lower-case letters, digits and hyphens')
    .describe(`Name or id of the ${noun}.`)
