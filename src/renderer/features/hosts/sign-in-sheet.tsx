import { useState } from 'react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { signInHost } from './actions.ts'

export function SignInSheet({ host, onClose }: { host: Host; onClose: () => void }) {
  const [password, setPassword] = useState('')
  const [passphrase, setPassphrase] = useState('')
  const empty = password === '' && passphrase === ''
  const submit = async () => {
    if (!empty && (await signInHost(host, { password, passphrase }))) onClose()
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Sign in to ${host.name}`}
      description={`${host.address}. What you type is kept in memory only, until Eitri quits.`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" disabled={empty} onClick={() => void submit()}>
            Sign in
          </Button>
        </>
      }
    >
      <form
        className="grid gap-2"
        onSubmit={(e) => {
          e.preventDefault()
          void submit()
        }}
      >
        <TextField
          label="Password"
          type="password"
          value={password}
          hint="If the host takes passwords"
          onChange={(e) => setPassword(e.target.value)}
        />
        <TextField
          label="Passphrase of the key"
          type="password"
          value={passphrase}
          hint="If your key file has one"
          onChange={(e) => setPassphrase(e.target.value)}
        />
        <button type="submit" hidden />
      </form>
    </Dialog>
  )
}
