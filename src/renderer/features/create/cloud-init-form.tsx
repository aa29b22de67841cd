import { Plus, X } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { Edit } from '../../../ipc/cloud-init/finding.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { inputClass, TextArea, TextField } from '../../ui/field.tsx'
import { FormPatch, type Path } from './form-patch.ts'
import type { FormFile, FormText, FormUser, FormView } from './form-view.ts'
import type { NewValue } from './yaml-write.ts'

interface FormProps {
  view: FormView
  /** The text the view is of. */
  text: string
  onEdit: (edit: Edit) => void
  onJump: (line: number) => void
}

interface Acts {
  set: (path: Path, value: string) => void
  add: (path: Path, value: NewValue) => void
  remove: (path: Path) => void
  jump: (line: number) => void
}

/** The parts of a cloud-config most people write; every change is one edit of the lines it is about. */
export function CloudInitForm({ view, text, onEdit, onJump }: FormProps) {
  const patch = () => new FormPatch(text)
  const acts: Acts = {
    set: (path, value) => onEdit(patch().set(path, value)),
    add: (path, value) => onEdit(patch().add(path, value)),
    remove: (path) => onEdit(patch().remove(path)),
    jump: onJump,
  }
  return (
    <div className="grid gap-4 rounded-md border border-line p-4">
      <TextField
        label="Host name"
        value={view.hostname}
        placeholder="the name of the VM"
        onChange={(e) => (e.target.value === '' ? acts.remove(['hostname']) : acts.set(['hostname'], e.target.value))}
      />
      <Part title="Users">
        {view.users.map((user) => (
          <UserRow key={user.path.join('.')} user={user} acts={acts} />
        ))}
        <AddLine label="Add a user" placeholder="ops" onAdd={(name) => acts.add(['users'], newUser(name))} />
      </Part>
      <Texts
        title="Packages"
        label="Add a package"
        placeholder="nginx"
        path={['packages']}
        rows={view.packages}
        acts={acts}
      />
      <Part title="Files">
        {view.files.map((file) => (
          <FileRow key={file.path.join('.')} file={file} acts={acts} />
        ))}
        <AddLine
          label="Add a file"
          placeholder="/etc/app.conf"
          onAdd={(path) => acts.add(['write_files'], { path, permissions: '0644', content: '' })}
        />
      </Part>
      <Texts
        title="Commands, once"
        label="Add a command"
        placeholder="systemctl restart nginx"
        path={['runcmd']}
        rows={view.commands}
        acts={acts}
      />
      {view.others.length > 0 && (
        <p className="text-dim text-xs">
          Not shown here, and left as they are:{' '}
          {view.others.map(({ key, line }, i) => (
            <span key={key}>
              {i > 0 && ', '}
              <LineLink line={line} onJump={onJump}>
                {key} in line {line}
              </LineLink>
            </span>
          ))}
          .
        </p>
      )}
    </div>
  )
}

const newUser = (name: string): NewValue => ({ name, sudo: 'ALL=(ALL) NOPASSWD:ALL', shell: '/bin/bash' })

const Part = ({ title, children }: { title: string; children: ReactNode }) => (
  <fieldset className="grid gap-2">
    <legend className="mb-1 font-medium text-dim text-xs">{title}</legend>
    {children}
  </fieldset>
)

const LineLink = ({
  line,
  onJump,
  children,
}: {
  line: number
  onJump: (line: number) => void
  children: ReactNode
}) => (
  <button type="button" className="min-h-6 text-accent underline" onClick={() => onJump(line)}>
    {children}
  </button>
)

interface TextsProps {
  title: string
  label: string
  placeholder: string
  path: Path
  rows: readonly FormText[]
  acts: Acts
}

function Texts({ title, label, placeholder, path, rows, acts }: TextsProps) {
  return (
    <Part title={title}>
      {rows.map((row, i) => (
        <TextRow key={row.path.join('.')} row={row} label={`${title} ${i + 1}`} acts={acts} />
      ))}
      <AddLine label={label} placeholder={placeholder} onAdd={(text) => acts.add(path, text)} />
    </Part>
  )
}

function TextRow({ row, label, acts }: { row: FormText; label: string; acts: Acts }) {
  const { path, text, line, fixed } = row
  return (
    <div className="flex items-start gap-1">
      {text.includes('\n') && !fixed ? (
        <textarea
          aria-label={label}
          rows={Math.min(6, text.split('\n').length)}
          value={text}
          spellCheck={false}
          className={`${inputClass} py-1 font-mono text-xs leading-5`}
          onChange={(e) => acts.set(path, e.target.value)}
        />
      ) : (
        <input
          aria-label={label}
          value={text}
          readOnly={fixed}
          spellCheck={false}
          className={`${inputClass} h-7 font-mono text-xs ${fixed ? 'text-dim' : ''}`}
          onChange={(e) => acts.set(path, e.target.value)}
        />
      )}
      {fixed && (
        <LineLink line={line} onJump={acts.jump}>
          line&nbsp;{line}
        </LineLink>
      )}
      <IconButton label={`Remove ${label}`} onClick={() => acts.remove(path)}>
        <X size={14} aria-hidden />
      </IconButton>
    </div>
  )
}

function FileRow({ file, acts }: { file: FormFile; acts: Acts }) {
  const { path } = file
  if (file.fixed) return <FixedRow text={file.file} line={file.line} acts={acts} path={path} />
  return (
    <div className="grid gap-x-3 gap-y-1 rounded-md border border-line p-3 sm:grid-cols-[1fr_7rem_auto]">
      <TextField
        label="Path"
        value={file.file}
        className="font-mono text-xs"
        onChange={(e) => acts.set([...path, 'path'], e.target.value)}
      />
      <TextField
        label="Mode"
        value={file.permissions}
        placeholder="0644"
        className="font-mono text-xs"
        onChange={(e) => acts.set([...path, 'permissions'], e.target.value)}
      />
      <IconButton label={`Remove the file ${file.file}`} className="mt-5" onClick={() => acts.remove(path)}>
        <X size={14} aria-hidden />
      </IconButton>
      <div className="sm:col-span-3">
        <TextArea
          label="Content"
          rows={Math.min(8, Math.max(2, file.content.split('\n').length))}
          value={file.content}
          hint={file.others.length > 0 ? `Also has ${file.others.join(', ')}, left as they are.` : undefined}
          onChange={(e) => acts.set([...path, 'content'], e.target.value)}
        />
      </div>
    </div>
  )
}

function UserRow({ user, acts }: { user: FormUser; acts: Acts }) {
  const { path } = user
  if (user.fixed)
    return (
      <FixedRow
        text={user.name === 'default' ? 'default: the first user of the image' : user.name}
        line={user.line}
        acts={acts}
        path={path}
      />
    )
  return (
    <div className="grid gap-1 rounded-md border border-line p-3">
      <div className="flex items-start gap-1">
        <div className="flex-1">
          <TextField
            label="Name"
            value={user.name}
            hint={user.others.length > 0 ? `Also has ${user.others.join(', ')}, left as they are.` : undefined}
            onChange={(e) => acts.set([...path, 'name'], e.target.value)}
          />
        </div>
        <IconButton label={`Remove the user ${user.name}`} className="mt-5" onClick={() => acts.remove(path)}>
          <X size={14} aria-hidden />
        </IconButton>
      </div>
      {user.keys.map((key, i) => (
        <TextRow key={key.path.join('.')} row={key} label={`SSH key ${i + 1} of ${user.name}`} acts={acts} />
      ))}
      <AddLine
        label={`Add an SSH key for ${user.name}`}
        placeholder="ssh-ed25519 AAAA… you@laptop"
        onAdd={(key) => acts.add([...path, 'ssh_authorized_keys'], key)}
      />
    </div>
  )
}

const FixedRow = ({ text, line, path, acts }: { text: string; line: number; path: Path; acts: Acts }) => (
  <div className="flex items-center gap-2 rounded-md border border-line px-3 py-1.5">
    <code className="min-w-0 flex-1 truncate font-mono text-dim text-xs">{text}</code>
    <LineLink line={line} onJump={acts.jump}>
      line {line}
    </LineLink>
    <IconButton label={`Remove ${text}`} onClick={() => acts.remove(path)}>
      <X size={14} aria-hidden />
    </IconButton>
  </div>
)

function AddLine({ label, placeholder, onAdd }: { label: string; placeholder: string; onAdd: (text: string) => void }) {
  const [text, setText] = useState('')
  const add = () => {
    if (text.trim() === '') return
    onAdd(text.trim())
    setText('')
  }
  return (
    <div className="flex items-center gap-1">
      <input
        aria-label={label}
        value={text}
        placeholder={placeholder}
        spellCheck={false}
        className={`${inputClass} h-7 font-mono text-xs`}
        onChange={(e) => setText(e.target.value)}
        onKeyDown={(e) => {
          if (e.key !== 'Enter' || e.ctrlKey || e.metaKey) return
          e.preventDefault()
          add()
        }}
      />
      <Button size="small" className="h-7" disabled={text.trim() === ''} onClick={add}>
        <Plus size={13} aria-hidden />
        {label.split(' for ')[0]}
      </Button>
    </div>
  )
}
