/* The sidebar is long: begin where the reader is. */
const list = document.querySelector(".sidebar-scroll");
const here = document.querySelector(".sidebar-tree .current-page");
if (list && here) list.scrollTop = here.getBoundingClientRect().top - list.getBoundingClientRect().top - 80;
