import { SheetSubject } from '../../ui/sheet-subject.tsx'
import { CaSheet } from './ca-details.tsx'
import { CreateCaSheet, ImportCaSheet } from './ca-sheets.tsx'
import { IssueSheet, RevokeSheet } from './certificate-sheets.tsx'
import { goneCa, goneSerial } from './gone-ca.ts'
import { useAuthorities, useRevokedList } from './queries.ts'
import { RetireSheet } from './retire-sheet.tsx'
import { RotateSheet } from './rotate-sheet.tsx'
import { closeTrustSheet, useTrustSheet } from './trust-sheets.ts'

/** The sheet that is open, over the page. */
export function OpenTrustSheet() {
  const open = useTrustSheet((s) => s.open)
  const cas = useAuthorities().data
  const revoked = useRevokedList().data?.revoked
  if (!open) return null
  const onClose = closeTrustSheet
  switch (open.sheet) {
    case 'create':
      return <CreateCaSheet kind={open.kind} onClose={onClose} />
    case 'import':
      return <ImportCaSheet kind={open.kind} onClose={onClose} />
    case 'rotate':
      return <RotateSheet kind={open.kind} onClose={onClose} />
    case 'issue':
      return <IssueSheet onClose={onClose} />
    case 'revoke':
      return (
        <SheetSubject gone={goneSerial(open.serial, revoked)}>
          <RevokeSheet serial={open.serial} about={open.about} onClose={onClose} />
        </SheetSubject>
      )
    default: {
      const now = cas?.find(({ id }) => id === open.ca.id)
      const ca = now ?? open.ca
      return (
        <SheetSubject gone={goneCa(open.sheet, open.ca, cas && { now })}>
          {open.sheet === 'show' ? <CaSheet ca={ca} onClose={onClose} /> : <RetireSheet ca={ca} onClose={onClose} />}
        </SheetSubject>
      )
    }
  }
}
