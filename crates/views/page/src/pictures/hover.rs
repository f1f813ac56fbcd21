//! Values under the pointer. Without script, the browser shows the titles of dots and cells itself,
//! after a while and only to a mouse; with it, they are shown at once, and to a finger, too.

/// The script of every page: one box that follows the pointer, with the title of what is there.
pub(crate) const HOVER_SCRIPT: &str = "{\
const box=document.createElement('div');box.className='value';box.hidden=true;\
box.setAttribute('role','tooltip');document.body.append(box);\
for(const title of document.querySelectorAll('svg title')){const of=title.parentNode;\
if(of.tagName==='svg')continue;of.dataset.value=title.textContent;\
of.setAttribute('aria-label',title.textContent);title.remove()}\
const show=event=>{const of=event.target.closest?.('[data-value]');box.hidden=!of;if(!of)return;\
box.textContent=of.dataset.value;\
const place=(at,size,room)=>Math.max(0,at+14+size>room?at-size-8:at+14);\
box.style.left=place(event.clientX,box.offsetWidth,document.documentElement.clientWidth)+'px';\
box.style.top=place(event.clientY,box.offsetHeight,innerHeight)+'px'};\
for(const kind of ['pointermove','pointerdown'])document.addEventListener(kind,show);\
document.addEventListener('scroll',()=>{box.hidden=true},true)}";

/// Its look.
pub(crate) const HOVER_STYLE: &str = "\
.value{position:fixed;z-index:1;pointer-events:none;max-width:min(24rem,90vw);\
padding:.3rem .5rem;border:1px solid var(--muted);border-radius:.3rem;background:var(--paper);\
color:var(--ink);font-size:.85rem;white-space:pre-line}\
svg text:not([data-value]),svg path.gap{pointer-events:none}\
@media print{.value{display:none}}";
