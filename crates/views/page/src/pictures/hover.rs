//! Values under the pointer, and at the focus. Without script, the browser shows the titles of dots
//! and cells itself, after a while and only to a mouse; with it, they are shown at once, to a
//! finger, and to keys: a picture takes the focus, and arrows step through its values.

/// The script of every page: one box beside the pointer or the value that keys have reached, with
/// the title of what is there; and the button that unfolds everything, to print it.
pub(crate) const HOVER_SCRIPT: &str = "{\
const box=document.createElement('div');box.className='value';box.hidden=true;\
box.setAttribute('role','status');document.body.append(box);\
for(const title of document.querySelectorAll('svg title')){const of=title.parentNode;\
if(of.tagName==='svg')continue;of.dataset.value=title.textContent;\
title.remove()}\
const put=(of,x,y)=>{box.hidden=!of;if(!of)return;\
box.textContent=of.dataset.value;\
const place=(at,size,room)=>Math.max(0,at+14+size>room?at-size-8:at+14);\
box.style.left=place(x,box.offsetWidth,document.documentElement.clientWidth)+'px';\
box.style.top=place(y,box.offsetHeight,innerHeight)+'px'};\
const show=event=>put(event.target.closest?.('[data-value]'),event.clientX,event.clientY);\
for(const kind of ['pointermove','pointerdown'])document.addEventListener(kind,show);\
document.addEventListener('scroll',()=>{box.hidden=true},true);\
const steps={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1};\
for(const picture of document.querySelectorAll('svg.picture')){\
const values=[...picture.querySelectorAll('[data-value]')];if(!values.length)continue;\
let at=-1;picture.tabIndex=0;\
const leave=()=>{values[at]?.classList.remove('reached');box.hidden=true};\
picture.addEventListener('blur',leave);\
picture.addEventListener('keydown',event=>{const step=steps[event.key];if(!step)return;\
event.preventDefault();leave();\
at=Math.min(values.length-1,Math.max(0,at+step));const of=values[at];of.classList.add('reached');\
of.scrollIntoView({block:'nearest',inline:'nearest'});\
requestAnimationFrame(()=>{const place=of.getBoundingClientRect();\
put(of,place.x+place.width/2,place.y+place.height/2)})})}\
const folded=document.querySelectorAll('details'),unfold=document.getElementById('unfold');\
if(unfold&&folded.length){unfold.hidden=false;\
unfold.onclick=()=>{for(const part of folded)part.open=true}}}";

/// Its look.
pub(crate) const HOVER_STYLE: &str = "\
.value{position:fixed;z-index:1;pointer-events:none;max-width:min(24rem,90vw);\
padding:.3rem .5rem;border:1px solid var(--muted);border-radius:.3rem;background:var(--paper);\
color:var(--ink);font-size:.85rem;white-space:pre-line}\
svg text:not([data-value]),svg path.gap{pointer-events:none}\
svg .reached{outline:3px solid var(--ink);outline-offset:2px}\
@media print{.value{display:none}}";
