import { IconButton } from './button.tsx'
import { Menu, type MenuProps } from './menu.tsx'

/** What can be done with the object of a row, behind three dots: a character, as an icon in each row costs a scrolled table its frames. */
export function RowMenu({ of, items }: { of: string } & Pick<MenuProps, 'items'>) {
  return (
    <Menu
      items={items}
      trigger={
        <IconButton label={`Actions for ${of}`} data-row-menu className="text-lg leading-none">
          <span aria-hidden>⋯</span>
        </IconButton>
      }
    />
  )
}
