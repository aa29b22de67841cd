import { useState } from 'react'
import { TextField } from '../../ui/field.tsx'
import { BulkSheet, type BulkSheetProps } from './bulk-sheet.tsx'
import { labelsProblem, parseLabels } from './labels-text.ts'

/** Labels to set and to take away, with what that changes of each VM. */
export function BulkLabels(props: Omit<BulkSheetProps, 'act' | 'children'>) {
  const [setText, typeSet] = useState('')
  const [removeText, typeRemove] = useState('')
  const set = parseLabels(setText)
  const remove = Object.keys(parseLabels(removeText))
  const wrongSet = labelsProblem(set)
  const wrongRemove = labelsProblem(parseLabels(removeText))
  const isSaid = Object.keys(set).length + remove.length > 0
  const isFine = wrongSet === undefined && wrongRemove === undefined
  return (
    <BulkSheet
      {...props}
      act={{ do: 'labels', set: isFine ? set : {}, remove: isFine ? remove : [] }}
      isAsked={isSaid && isFine}
    >
      <div className="mb-2 grid gap-x-4 sm:grid-cols-2">
        <TextField
          label="Labels to set"
          placeholder="app=shop, prod"
          value={setText}
          problem={wrongSet}
          hint="With commas: key=value, or a key alone"
          onChange={(e) => typeSet(e.target.value)}
        />
        <TextField
          label="Labels to take away"
          placeholder="old"
          value={removeText}
          problem={wrongRemove}
          hint="Their keys, with commas"
          onChange={(e) => typeRemove(e.target.value)}
        />
      </div>
    </BulkSheet>
  )
}
